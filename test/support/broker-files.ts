import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What a file contains that runs a Mosquitto: directly, as a cloud broker, or one of its programs. */
const RUNS_MOSQUITTO = [
  /import \{[^}]*\b(?:startMosquitto|mosquittoProgram)\b[^}]*\} from '[^']*\/mosquitto\.ts'/,
  /\bengine: 'MOSQUITTO'/,
  /\b(?:spawn|execFile|execFileSync|promisify\(execFile\))\(\s*'mosquitto/,
];

/** Most files import it for its clients only. */
const SUPPORT = 'test/support/mosquitto.ts';

/** Files with several machines or a browser. What they test does not depend on the broker. */
const LEFT_OUT = ['test/support/hosts/', 'test/support/chromium.ts', 'test/support/haproxy.ts'];

const IMPORT = /^(?:import|export) [^;]*?from '(\.[^']*)'/gm;

/** Of test files, those that run a Mosquitto: they, or files of `test` that they import. */
export function filesWithMosquitto(tests: readonly string[]): string[] {
  const texts = new Map<string, string>();
  const textOf = (path: string) => {
    const text = texts.get(path) ?? readFileSync(path, 'utf8');
    texts.set(path, text);
    return text;
  };
  /** The file and all files of `test` that it imports, directly or not. */
  const withImports = (path: string, found = new Set<string>()): Set<string> => {
    if (found.has(path)) return found;
    found.add(path);
    for (const [, from = ''] of textOf(path).matchAll(IMPORT)) {
      const other = join(dirname(path), from);
      if (other.startsWith('test/') && other !== SUPPORT) withImports(other, found);
    }
    return found;
  };
  return tests.filter((test) => {
    const files = [...withImports(test)];
    if (files.some((file) => LEFT_OUT.some((start) => file.startsWith(start)))) return false;
    return files.some((file) => RUNS_MOSQUITTO.some((pattern) => pattern.test(textOf(file))));
  });
}
