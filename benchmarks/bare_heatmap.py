"""A heatmap of 1,024 rows as Streamlit and Plotly show it by themselves."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st


@st.cache_data
def cosine(centred: bool) -> np.ndarray:
    rows = np.random.default_rng(0).normal(0, 0.02, (1024, 768)).astype(np.float32)
    rows -= rows.mean(axis=0) if centred else 0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


metric = st.segmented_control("Similarity", ["Cosine", "Centred cosine"], default="Cosine")
st.plotly_chart(go.Figure(go.Heatmap(z=cosine(metric == "Centred cosine"))), key="pairs")
