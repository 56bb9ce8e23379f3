"""Model FLOPs and throughput. Pure arithmetic: importing this pulls in no JAX."""

from bench_core.accounting.flops import FlopTerms, count_flops
from bench_core.accounting.throughput import Throughput, throughput

__all__ = ["FlopTerms", "Throughput", "count_flops", "throughput"]
