"""The gated MoE block, its implementations, and the oracle that they are held against."""
