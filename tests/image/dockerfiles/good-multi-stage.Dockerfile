ARG CUDA=12.4.1
FROM nvidia/cuda:${CUDA}-devel-ubuntu22.04 AS build
RUN make -C /src

FROM nvidia/cuda:${CUDA}-runtime-ubuntu22.04
COPY --from=build /src/app /app
CMD ["/app"]
