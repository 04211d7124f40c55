"""The least Streamlit app that shows one Plotly chart: what posviz's start is held against."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

angle = np.linspace(0, 6 * np.pi, 128)
st.plotly_chart(go.Figure(go.Scatter(x=np.cos(angle), y=angle, mode="lines")))
