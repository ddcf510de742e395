# Garner on Debian slim: the wheel of `make release`, and nothing to compile.   docker build -t garner .
FROM python:3.12-slim-bookworm
COPY dist/garner_graph-*-cp312-abi3-*.whl /tmp/
RUN pip install --no-cache-dir /tmp/*.whl && rm /tmp/*.whl && useradd --create-home garner
# What the container toolkit is to bring in: the driver's libraries and nvidia-smi.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER garner
WORKDIR /data
ENTRYPOINT ["garner"]
