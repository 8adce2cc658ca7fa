# Builds the package from the sources, then copies only what runs.
#
# Tags move. For a release pin the image by its digest: `npm run image` refuses others, see docs/operation.md, “Releases”.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
# Named one by one: a node_modules or data folder beside the Dockerfile is of no concern here.
COPY scripts ./scripts
COPY prisma ./prisma
COPY console ./console
COPY schema.graphql tsconfig.json ./
COPY src ./src
# What the build is called: there is no repository here. `npm run image` passes them.
ARG BUILD_COMMIT
ARG SOURCE_DATE_EPOCH
# Without their mention, too: the Prisma client would keep its command line and the compiler as optional peers.
RUN npm run build && npm pkg delete devDependencies && npm prune --omit=dev --omit=peer --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 MQTT_HOST=0.0.0.0 DATA_DIR=/data LOG_FORMAT=json
# The C library gives blocks of 128 KiB and more back to the system, such as those of recorded topics: else it keeps most of them for later.
ENV MALLOC_MMAP_THRESHOLD_=131072
WORKDIR /app
COPY --from=build /src/package.json ./
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/dist ./dist
COPY --from=build /src/prisma/migrations ./prisma/migrations
# Platforms that choose the user, such as OpenShift, give it the group 0.
RUN mkdir -m 0770 /data && chown node:root /data
# The commands `backup` and `restore` need pg_dump and pg_restore of the version of the server: newer ones write settings that
# it does not know. What Debian does not have comes from the repository of PostgreSQL, whose key is in Debian's package.
ARG POSTGRESQL_CLIENT=15
RUN apt-get update \
  && { apt-cache show postgresql-client-${POSTGRESQL_CLIENT} > /dev/null 2>&1 \
    || { apt-get install -y --no-install-recommends ca-certificates postgresql-common \
      && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y; }; } \
  && apt-get install -y --no-install-recommends postgresql-client-${POSTGRESQL_CLIENT} \
  && rm -rf /var/lib/apt/lists/*
# The programs themselves: the wrappers of Debian in /usr/bin look for clusters.
ENV PATH=/usr/lib/postgresql/${POSTGRESQL_CLIENT}/bin:$PATH
# Brokers on the engine MOSQUITTO need it: RUN apt-get update && apt-get install -y --no-install-recommends mosquitto
USER node
# The only folder that is written: the root file system may be read-only.
VOLUME /data
EXPOSE 4000 1883 8883 9001
# Ends open connections, brokers and queues in order; it may take 20 seconds, so give it 30 (`docker stop --time 30`).
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=60s --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:4000/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js", "serve"]
