/**
 * `npm run advisories`: fails if a production dependency has a known advisory of severity high or critical. If the
 * registry returns no report, the script prints a note and succeeds, so that a build without a network passes.
 */
import { spawnSync } from 'node:child_process';
import { root } from './stamps.mjs';

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json', ...process.argv.slice(2)], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 100_000_000,
});
const report = parsed(stdout);
const counts = report?.metadata?.vulnerabilities;
if (counts === undefined) {
  console.log(`Note: advisories were not checked. The registry returned: ${report?.message ?? 'no report'}`);
} else {
  const serious = Object.values(report.vulnerabilities).filter(({ severity }) => /^(high|critical)$/.test(severity));
  for (const { name, severity, range, via } of serious) console.error(`${severity}: ${name} ${range}: ${titles(via)}`);
  console.log(`Advisories of production dependencies: ${JSON.stringify(counts)}`);
  if (serious.length > 0) process.exitCode = 1;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The advisories of a dependency, or the names of the vulnerable packages that it depends on. */
function titles(via) {
  return via.map((each) => (typeof each === 'string' ? `by ${each}` : `${each.title} (${each.url})`)).join('; ');
}
