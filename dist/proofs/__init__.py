"""Proofs about the packages in dist/out."""
