"""Model FLOPs, bytes and throughput. Pure arithmetic: importing this pulls in no JAX."""

from bench_core.accounting.flops import FlopTerms, Throughput, count_flops, throughput
from bench_core.accounting.traffic import ByteTerms, count_bytes

__all__ = ["ByteTerms", "FlopTerms", "Throughput", "count_bytes", "count_flops", "throughput"]
