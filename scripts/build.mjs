/** Bundles src to dist, copies the pages and makes the command executable. */
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, workers } from './bundle.mjs';
import { noteDone, root } from './stamps.mjs';

/** What programs import that embed the service: docs/embedding.md. */
const FOR_PROGRAMS = ['app/service.ts', 'platform/config/config.ts'];

const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
await bundle(['main.ts', ...workers(), ...FOR_PROGRAMS], dist);
for (const page of ['console', 'graphiql']) {
  cpSync(join(root, 'src/generated', page), join(dist, 'generated', page), { recursive: true });
}
chmodSync(join(dist, 'main.js'), 0o755);
noteDone('compiled');
