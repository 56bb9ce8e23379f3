"""Model FLOPs, bytes and throughput. Pure arithmetic: importing this pulls in no JAX."""

from bench_core.accounting.flops import FlopTerms, count_flops
from bench_core.accounting.throughput import Throughput, throughput
from bench_core.accounting.traffic import ByteTerms, count_bytes

__all__ = ["ByteTerms", "FlopTerms", "Throughput", "count_bytes", "count_flops", "throughput"]
