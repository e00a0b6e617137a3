"""Run experiments on a Dask cluster."""
