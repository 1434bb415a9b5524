# syntax=docker/dockerfile:1
# docker build --build-arg REVISION="$(git rev-parse HEAD)" -t grantline .
# The newest LTS of Node; test/stack/parts/image.ts pins the same one.
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN sh image/assemble.sh /out

# glibc, libstdc++ and certificates: no shell, no package manager, and no npm.
FROM gcr.io/distroless/cc-debian12:nonroot
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Grantline" \
      org.opencontainers.image.description="Who may see which data on a Trino engine: compiled, proved and published." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /out/app /app
# With a large nursery Node 24 collects the whole heap where a young collection would free the buffers of pages (docs/decisions/withdrawn.md, 0055).
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=4 \
    MALLOC_ARENA_MAX=2
WORKDIR /app
# By number, so that Kubernetes can tell that it is not root. It writes nowhere; /tmp is for whoever mounts one.
USER 65532:65532
EXPOSE 3000 9464
# One container holds one service: hashing yields to everything else within it by its niceness, not across containers.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["/usr/local/bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.OPERATIONS_PORT || 9464}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/local/bin/node", "/app/dist/main.js"]
CMD ["serve"]
