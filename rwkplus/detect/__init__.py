"""Graphs that do not look like the rest, and why: detectors with the manners of scikit-learn and PyOD."""

from rwkplus.detect.base import GraphDetector
from rwkplus.detect.explanation import Explanation
from rwkplus.detect.files import load_detector
from rwkplus.detect.pattern import PatternDetector
from rwkplus.detect.surprise import SurpriseDetector
from rwkplus.detect.walk_kernel import WalkKernelDetector

__all__ = [
    "Explanation",
    "GraphDetector",
    "PatternDetector",
    "SurpriseDetector",
    "WalkKernelDetector",
    "load_detector",
]
