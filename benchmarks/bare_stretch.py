"""A table stretched by a slider with Streamlit's own parts, to compare with."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from posviz.analysis.references import random_normal

rows = random_normal(1024, 768)
length = st.slider("Length", 256, 4096, 2048)
at = np.linspace(0, len(rows) - 1, length)[:: -(-length // 1024)]  # as many as posviz paints
left = np.minimum(at.astype(int), len(rows) - 2)
part = (at - left)[:, None].astype(np.float32)
new = (1 - part) * rows[left] + part * rows[left + 1]
units = new / np.linalg.norm(new, axis=1, keepdims=True)
st.plotly_chart(go.Figure(go.Heatmap(z=units @ units.T)), key="pairs")
