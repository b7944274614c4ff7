"""Studies, rubrics, assignment, calibration and rating: what an annotator does and may see."""
