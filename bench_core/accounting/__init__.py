"""Model FLOPs, bytes and throughput. Pure arithmetic: importing this pulls in no JAX."""

from bench_core.accounting.work import ByteTerms, Throughput, count_bytes, count_flops, throughput

__all__ = ["ByteTerms", "Throughput", "count_bytes", "count_flops", "throughput"]
