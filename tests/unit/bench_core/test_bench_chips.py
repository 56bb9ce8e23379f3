from bench_core.accounting.chips import CHIPS, Arithmetic, peak_flops
from bench_core.aot.targets import TARGETS


def test_peaks_per_device() -> None:
    assert peak_flops("TPU v5", Arithmetic.BFLOAT16) == 459e12
    # Two devices are one chip.
    assert peak_flops("TPU7x", Arithmetic.BFLOAT16) == 1153.5e12
    assert peak_flops("NVIDIA H200", Arithmetic.FLOAT32) == 67e12


def test_what_is_not_published_is_not_guessed() -> None:
    assert peak_flops("cpu", Arithmetic.FLOAT32) is None
    assert peak_flops("NVIDIA H100 PCIe", Arithmetic.BFLOAT16) is None
    assert peak_flops("TPU v5", Arithmetic.FLOAT32) is None
    assert peak_flops("TPU7x", Arithmetic.INT8) is None


def test_every_chip_has_a_source_and_every_target_its_memory() -> None:
    assert all(chip.source.startswith("https://") and chip.bf16 for chip in CHIPS.values())
    for target in TARGETS.values():
        assert target.chip.hbm_gib
        assert target.chip.vmem_mib
