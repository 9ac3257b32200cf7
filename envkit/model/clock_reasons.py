"""NVML's clock event bits (nvml.h): why a GPU's clocks are lower than they could be, as nvidia-smi names each."""

from __future__ import annotations

IDLE, SETTING, POWER_CAP, SLOWDOWN, SYNC_BOOST, HEAT, HARDWARE_HEAT, POWER_BRAKE, DISPLAY = (
    1 << number for number in range(9)
)
NAMES = (  # the bit, its words in `nvidia-smi -q`, the end of its name in XML and in query columns
    (IDLE, "Idle", "_reason_gpu_idle"),
    (SETTING, "Applications Clocks Setting", "_reason_applications_clocks_setting"),
    (POWER_CAP, "SW Power Cap", "_reason_sw_power_cap"),
    (SLOWDOWN, "HW Slowdown", "_reason_hw_slowdown"),
    (SYNC_BOOST, "Sync Boost", "_reason_sync_boost"),
    (HEAT, "SW Thermal Slowdown", "_reason_sw_thermal_slowdown"),
    (HARDWARE_HEAT, "HW Thermal Slowdown", "_reason_hw_thermal_slowdown"),
    (POWER_BRAKE, "HW Power Brake Slowdown", "_reason_hw_power_brake_slowdown"),
    (DISPLAY, "Display Clock Setting", "_reason_display_clocks_setting"),
)
HELD_DOWN = POWER_CAP | SLOWDOWN | HEAT | HARDWARE_HEAT | POWER_BRAKE  # by power, heat, or a fault


def in_words(bits: int) -> str:
    """The reasons as `nvidia-smi -q` names them, `none` for no bit."""
    return ", ".join(text for bit, text, _ in NAMES if bits & bit) or (f"{bits:#x}" if bits else "none")
