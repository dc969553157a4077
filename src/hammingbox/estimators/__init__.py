"""Estimators for scikit-learn, which is imported only when one of them is."""
