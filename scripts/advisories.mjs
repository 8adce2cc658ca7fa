/**
 * `npm run advisories`: fails if a production dependency has a known advisory of severity high or critical. A registry that does not answer
 * such questions is a note and no failure: a build without a network must not fail by that.
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
  console.log(`Note: advisories were not checked, the registry did not answer: ${report?.message ?? 'no report'}`);
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

/** A dependency's own advisories, or the names of the packages that it has them by. */
function titles(via) {
  return via.map((each) => (typeof each === 'string' ? `by ${each}` : `${each.title} (${each.url})`)).join('; ');
}
