import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import graphql from '@graphql-eslint/eslint-plugin';
import { ESLint } from 'eslint';

const FILE = 'schema.graphql';
const { rules: recommended } = graphql.configs['flat/schema-recommended'];
const { rules: relay } = graphql.configs['flat/schema-relay'];

const CONFIG = {
  files: [FILE],
  languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema: FILE } } },
  plugins: { '@graphql-eslint': graphql },
  rules: {
    ...recommended,
    ...relay,
    // Payloads, events, connections, edges and values have no identity. Each type with an `id` is a Node.
    '@graphql-eslint/strict-id-in-types': 'off',
    '@graphql-eslint/relay-edge-types': [
      'error',
      {
        withEdgeSuffix: true,
        // Retained messages, access rules and the like have no identity outside their list.
        shouldImplementNode: false,
        // Connections have `nodes` and `edges`, and short lists have no pages.
        listTypeCanWrapOnlyEdgeType: false,
      },
    ],
  },
};

/** Rules that do not apply to single definitions, with a part of the line. */
const EXCEPTIONS = [
  // The MQTT specification calls it the topic name, and messages and rules have a `topic`, too.
  ['no-typename-prefix', /^ {2}topic: String!$/],
  // A network connection, not a page of a list.
  ['relay-connection-types', /^type ClusterEntryConnection /],
  ['relay-arguments', /: ClusterEntryConnection!$/],
];

/** The faults of schema.graphql in a folder. */
export async function lint(cwd) {
  const lines = readFileSync(join(cwd, FILE), 'utf8').split('\n');
  const eslint = new ESLint({ cwd, overrideConfigFile: true, overrideConfig: CONFIG });
  const results = await eslint.lintFiles(FILE);
  const isException = ({ ruleId, line }) =>
    EXCEPTIONS.some(([rule, text]) => ruleId === `@graphql-eslint/${rule}` && text.test(lines[line - 1]));
  return results.flatMap(({ messages }) => messages).filter((message) => !isException(message));
}
