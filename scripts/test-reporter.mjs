/**
 * A vitest reporter for scripts/test.mjs. Writes the results of each test file to the file TEST_REPORT, as JSON:
 * `{ [file]: { passed, skipped, cpu, failures: [{ name, error }] } }`. `cpu` is in seconds. `file` is '' for an error
 * outside of tests whose file is unknown.
 */
import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

const MAX_LINES = 8;
const MAX_WIDTH = 240;

export default class TestReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const files = {};
    const of = (file) => {
      files[file] ??= { passed: 0, skipped: 0, cpu: 0, failures: [] };
      return files[file];
    };
    for (const module of modules) {
      const file = of(module.moduleId);
      file.cpu += module.meta().cpu ?? 0;
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state === 'passed') file.passed += 1;
        else if (state === 'failed') file.failures.push({ name: test.fullName, error: firstLines(errors[0]) });
        else file.skipped += 1;
      }
      for (const error of module.errors()) file.failures.push({ name: 'the file itself', error: firstLines(error) });
      for (const suite of module.children.allSuites())
        for (const error of suite.errors()) file.failures.push({ name: suite.fullName, error: firstLines(error) });
    }
    for (const error of unhandledErrors) {
      const name = `outside of tests${error.VITEST_TEST_NAME ? `, around "${error.VITEST_TEST_NAME}"` : ''}`;
      of(error.VITEST_TEST_PATH ?? '').failures.push({ name, error: firstLines(error) });
    }
    writeFileSync(process.env.TEST_REPORT, JSON.stringify(files));
  }
}

/** The first lines of the message and of the difference, and the location in the tests. */
function firstLines(error) {
  const message = `${error?.name ?? 'Error'}: ${error?.message ?? String(error)}`.split('\n');
  const differing = stripVTControlCharacters(error?.diff ?? '')
    .split('\n')
    .filter((line) => /^[-+] /.test(line));
  const place = error?.stack?.split('\n').find((line) => /^ +at .*\/test\//.test(line));
  const lines = [...message.slice(0, MAX_LINES), ...differing.slice(0, MAX_LINES), ...(place ? [place.trim()] : [])];
  return lines.map((line) => line.slice(0, MAX_WIDTH));
}
