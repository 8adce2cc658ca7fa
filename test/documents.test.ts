import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildSchema, Kind, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import {
  certainAfterMs,
  closesAfterMs,
  opensAfterMs,
  PROBLEM_KINDS,
  problemKinds,
  readEveryMs,
} from '../src/domains/problems/model/problem-kinds.ts';
import { THRESHOLDS, thresholdNames } from '../src/domains/problems/model/problem-thresholds.ts';
import { SETTINGS } from '../src/platform/config/settings.ts';
import { ERROR_STATUS } from '../src/platform/errors.ts';
import { STATEMENTS, statementCodes } from '../src/protocol/problems/problem-statements.ts';
import { OWN_SETTINGS } from './deploy/chart-values.ts';
import { runHere } from './support/commands.ts';
import { startTestService } from './support/service.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const documents = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const names = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'examples/README.md',
  'deploy/helm/brokergraph/README.md',
  ...documents,
];
const texts = new Map(names.map((name) => [name, readFileSync(`${root}${name}`, 'utf8')]));
const textOf = (name: string) => texts.get(name) ?? '';

const GENERATED = 'This document is generated (`npx vitest run test/documents.test.ts -u`)';

test('the table of settings is the one in config.ts', async () => {
  const rows = Object.values(SETTINGS).map(({ env, fallback, help, ...rest }) => {
    const shown = 'shownDefault' in rest && rest.shownDefault !== undefined ? rest.shownDefault : `\`${fallback}\``;
    return `| \`${env}\` | ${shown} | ${help} |`;
  });
  const secrets = Object.values(SETTINGS).filter((row) => 'secret' in row);
  const introduction = `# Configuration

Settings are environment variables. If values are invalid, the service reports all of them and does not start. ${GENERATED} from \`platform/config/settings.ts\`.

- A variable whose name differs from a setting by one or two letters is refused, also by commands: it would have no effect.
- A secret may be in a file: ${listOf(secrets.map(({ env }) => `\`${env}_FILE\``))} name files of at most 64 KiB. A newline at the end is not part of the secret. A secret that is also set itself is refused.`;
  const table = ['| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
  await expect(`${introduction}\n\n${table}\n`).toMatchFileSnapshot('../docs/configuration.md');
});

test('docs/problems.md has the table of the kinds of problems, and that of the thresholds', async () => {
  const kinds = problemKinds.map((kind) => {
    const { severity, title, whatWouldHelp } = PROBLEM_KINDS[kind];
    const opensMs = certainAfterMs(kind) + opensAfterMs(kind);
    const seconds = [readEveryMs(kind), opensMs, closesAfterMs(kind)].map((ms) => `${ms / 1_000} s`);
    return `| \`${kind}\` | ${[severity, ...seconds, `${title}. ${whatWouldHelp}`].join(' | ')} |`;
  });
  const statements = statementCodes.map((code) => `| \`${code}\` | ${STATEMENTS[code].replaceAll('|', '\\|')} |`);
  const thresholds = thresholdNames.map((name) => {
    const { fallback, min, max, meaning } = THRESHOLDS[name];
    return `| \`${name}\` | ${fallback} | ${min} to ${max} | ${meaning} |`;
  });
  const tables = [
    '## Kinds\n\n| Kind | Severity | Read every | Opens after | Closes after | Meaning, and what would help |\n| --- | --- | --- | --- | --- | --- |',
    ...kinds,
    '\n## Statements\n\n`{name}` is the place of a parameter, `{name:word|words}` a word for the number of one. The value of `error` is a text of a broker, of a target or of the service, in English.\n\n| Code | Text |\n| --- | --- |',
    ...statements,
    '\n## Thresholds\n\n| Threshold | Default | Values | Meaning |\n| --- | --- | --- | --- |',
    ...thresholds,
  ].join('\n');
  const [introduction = ''] = textOf('docs/problems.md').split('## Kinds');
  await expect(`${introduction}${tables}\n`).toMatchFileSnapshot('../docs/problems.md');
});

const CHART = 'deploy/helm/brokergraph';

test('the schema of the values of the chart has each setting, except secrets and those that the chart sets', async () => {
  const names = Object.values(SETTINGS).flatMap(({ env, ...row }) =>
    'secret' in row ? [`${env}_FILE`] : OWN_SETTINGS.includes(env) ? [] : [env],
  );
  const lines = names.map((name) => `        "${name}": { "$ref": "#/definitions/setting" }`).join(',\n');
  const schema = readFileSync(`${root}${CHART}/values.schema.json`, 'utf8');
  const settings =
    /("settings": \{\s+"type": "object",\s+"additionalProperties": false,\s+"properties": \{\n)[\s\S]*?\n {6}\}/;
  expect(schema).toMatch(settings);
  const file = `../${CHART}/values.schema.json`;
  await expect(schema.replace(settings, (_, begin) => `${begin}${lines}\n      }`)).toMatchFileSnapshot(file);
});

test('the README of the chart has the comment of each value', async () => {
  const rows: string[] = [];
  const parents: string[] = [];
  let comment: string[] = [];
  for (const line of readFileSync(`${root}${CHART}/values.yaml`, 'utf8').split('\n').slice(3)) {
    const [, spaces = '', said] = /^( *)# (.*)$/.exec(line) ?? [];
    const [, indent = '', name, value = ''] = /^( *)([\w]+):(?: (.*))?$/.exec(line) ?? [];
    if (said !== undefined) comment.push(said);
    else if (name !== undefined) {
      parents.splice(indent.length / 2, parents.length, name);
      const words = comment.join(' ').replaceAll('|', '\\|');
      if (value !== '' || words !== '')
        rows.push(`| \`${parents.join('.')}\` | ${value === '' ? '' : `\`${value}\``} | ${words} |`);
      comment = [];
    } else comment = spaces === '' && line === '' ? [] : comment;
  }
  expect(rows.length).toBeGreaterThan(80);
  const introduction = `# Values of the chart

${GENERATED} from \`values.yaml\`. \`values.schema.json\` has all bounds: Helm refuses unknown values. [Several processes](../../../docs/scaling.md#with-kubernetes) describes the deployment.

| Value | Default | Meaning |
| --- | --- | --- |
`;
  await expect(`${introduction}${rows.join('\n')}\n`).toMatchFileSnapshot(`../${CHART}/README.md`);
});

const listOf = (words: readonly string[]) => `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** The help of a command, and those of the commands below it. */
async function helpOf(words: readonly string[]): Promise<string[]> {
  const { code, out } = await runHere([...words, '--help']);
  expect(code).toBe(0);
  const [text = ''] = out.split('\nSettings (');
  const below = [...(text.split('Commands:')[1] ?? '').matchAll(/^ {2}([a-z-]+) /gm)].flatMap(([, name = '']) =>
    name === 'help' ? [] : [helpOf([...words, name])],
  );
  // Each has `--json`, except the one that does not end.
  if (below.length === 0) expect([words, text.includes('--json')]).toEqual([words, words[0] !== 'serve']);
  const section = `## ${['brokergraph', ...words].join(' ')}\n\n\`\`\`\n${text.trim()}\n\`\`\`\n`;
  return [section, ...(await Promise.all(below)).flat()];
}

test('docs/commands.md lists each command with its help', async () => {
  const introduction = `# Commands

${GENERATED} from \`--help\` of each command. In a checkout, the command is \`node dist/main.js\`, and \`npm start\` runs \`serve\`. The settings of the service apply to all commands, see [Configuration](configuration.md).

All commands except \`serve\` have \`--json\`. The exit codes are:

- 0: the command succeeded.
- 1: the command was refused or failed, its output cannot be written, or its result is negative.
- 2: the command line or a setting is invalid.

All commands except \`serve\`, \`migrate\`, \`restore\` and \`doctor\` require a data folder and a database that the service or \`migrate\` has used. Otherwise they are refused, and create nothing.

Passwords are never arguments, because all users of the machine can see arguments. \`--ask-password\` prompts for a password at the terminal, or reads the first line of standard input. Without this option, a password is generated and shown only once.

\`user\`, \`project\`, \`token\`, \`access\`, \`audit\` and \`secrets\` work with and without a running service. They reach a running service by a socket in the data folder. Any user who may read this folder therefore acts as the operator. Without a running service, \`access\` connects to the broker itself. Brokers that the service runs require the running service. \`migrate\` and \`restore\` require that the service of the data folder is stopped.

[Backups](backup.md) describes \`backup\`, \`restore\` and \`migrate --to\`. [Manage access](access.md) describes \`access\`, and [Audit](audit.md) \`audit\`. [The key of stored secrets](operation.md#the-key-of-stored-secrets) describes \`secrets rotate\`.
`;
  const sections = await helpOf([]);
  await expect([introduction, ...sections].join('\n')).toMatchFileSnapshot('../docs/commands.md');
});

test('every error code is in the table of errors, with its status', () => {
  const section = textOf('docs/api.md').split('## Errors')[1]?.split('## MQTT')[0] ?? '';
  for (const [code, status] of Object.entries(ERROR_STATUS))
    expect(section).toMatch(new RegExp(`^\\|.*\`${code}\`.*\\| ${status} \\|`, 'm'));
});

test('every metric is in the table of metrics', async () => {
  const service = await startTestService();
  const headers = { authorization: `Bearer ${service.root}` };
  const metrics = await (await fetch(`${service.url}/metrics`, { headers })).text();
  const section = textOf('docs/operation.md').split('## Metrics')[1] ?? '';
  const listed = [...section.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, name = '']) => {
      const [before = '', choices = '', after = ''] = name.split(/[{}]/);
      return choices.split(',').map((choice) => `brokergraph_${before}${choice}${after}`);
    }),
  );
  const actual = [...metrics.matchAll(/^# TYPE (brokergraph_\w+)/gm)].map(([, name]) => name);
  expect(actual.length).toBeGreaterThan(20);
  expect(actual.filter((name) => !listed.includes(name ?? ''))).toEqual([]);
});

test('every example of GraphQL is valid', () => {
  const schema = buildSchema(readFileSync(`${root}schema.graphql`, 'utf8'));
  for (const [name, text] of texts)
    for (const [, operation = ''] of text.matchAll(/```graphql\n([\s\S]*?)```/g))
      for (const definition of parse(operation).definitions)
        expect([name, validate(schema, { kind: Kind.DOCUMENT, definitions: [definition] })]).toEqual([name, []]);
});

test('docs/README.md lists every document', () => {
  const listed = [...textOf('docs/README.md').matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => `docs/${path}`);
  const own = documents.filter((name) => !name.startsWith('docs/decisions/') && name !== 'docs/README.md');
  expect(own.filter((name) => !listed.includes(name))).toEqual([]);
});

test('every link within the README and the documents has an existing target', () => {
  const anchorsOf = (name: string) =>
    [...textOf(name).matchAll(/^#+ (.*)$/gm)].map(
      ([, heading = '']) =>
        `#${heading
          .toLowerCase()
          .replace(/[^a-z0-9 -]/g, '')
          .replaceAll(' ', '-')}`,
    );
  for (const [name, text] of texts) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const { pathname, hash } = new URL(target, `file:///${name}`);
      const path = pathname.slice(1);
      expect([name, target, existsSync(`${root}${path}`)]).toEqual([name, target, true]);
      if (hash !== '') expect([name, target, anchorsOf(path)]).toEqual([name, target, expect.arrayContaining([hash])]);
    }
  }
});
