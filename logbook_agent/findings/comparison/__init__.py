"""Comparisons: how a designed question is judged, and what its one answer is.

rule       the statistics: what pairs say of one metric, a side and a case
judgement  which pairs it gets, and what its outcome is called
answer     what a finding and an answer are
"""
