"""Where PyTorch has its modes that look for anomalies."""
from .modes import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
