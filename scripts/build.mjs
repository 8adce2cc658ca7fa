/**
 * Bundles src to dist, copies the pages and makes the command executable. dist/build.json has the commit and the date.
 * SOURCE_DATE_EPOCH replaces the date, so that a build can be repeated.
 */
import { chmodSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, workers } from './bundle.mjs';
import { commitOf } from './commit.mjs';
import { noteDone, root } from './stamps.mjs';

/** What programs import that embed the service: docs/embedding.md. */
const FOR_PROGRAMS = ['app/service.ts', 'platform/config/config.ts'];

const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
await bundle(['main.ts', ...workers(), ...FOR_PROGRAMS], dist);
for (const page of ['console', 'embed', 'graphiql']) {
  cpSync(join(root, 'src/generated', page), join(dist, 'generated', page), { recursive: true });
}
chmodSync(join(dist, 'main.js'), 0o755);
const { SOURCE_DATE_EPOCH } = process.env;
const builtAt = SOURCE_DATE_EPOCH ? new Date(Number(SOURCE_DATE_EPOCH) * 1_000) : new Date();
writeFileSync(join(dist, 'build.json'), `${JSON.stringify({ commit: commitOf(), builtAt })}\n`);
noteDone('compiled');
