import type { JsonSchema, Route } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, NULLABLE_STRING, PAGE_QUERY, STRING } from '../../gateway/rest/schemas.ts';
import { PROBLEM_SEVERITIES, problemKinds } from './model/problem-kinds.ts';

const MAX_COUNT = 10_000;

const QUERY: JsonSchema = {
  type: 'object',
  properties: {
    open: { ...BOOLEAN, default: true, description: 'Open problems, or those that have closed.' },
    offset: PAGE_QUERY.offset,
    count: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_COUNT,
      default: 1_000,
      description: 'Maximum number of entries.',
    },
  },
};

const PROBLEMS: JsonSchema = {
  type: 'array',
  items: closed(
    {
      id: STRING,
      kind: { type: 'string', enum: problemKinds, description: 'docs/problems.md describes each kind.' },
      severity: { type: 'string', enum: PROBLEM_SEVERITIES },
      title: { ...STRING, description: 'What is wrong.' },
      detail: { ...STRING, description: 'The facts, at most a minute old.' },
      whatWouldHelp: { ...STRING, description: 'What an operator can do about it.' },
      subjectId: { ...NULLABLE_STRING, description: 'The object that has the problem.' },
      subjectName: STRING,
      broker: {
        ...closed({ id: STRING, name: STRING }),
        type: ['object', 'null'],
        description: 'The broker of the subject.',
      },
      openedAt: STRING,
      closedAt: { ...NULLABLE_STRING, description: 'Null while the problem is open.' },
      lastSeenAt: STRING,
      count: { ...INTEGER, description: 'How often the fact has appeared.' },
      acknowledgement: {
        ...closed({ by: STRING, at: STRING, note: NULLABLE_STRING }),
        type: ['object', 'null'],
        description: 'Null unless a person has acknowledged the problem.',
      },
      isSilenced: { ...BOOLEAN, description: 'Whether a silence of the project applies to it now.' },
    },
    { title: 'Problem' },
  ),
};

const LIST = `query ($projectId: ID!, $open: Boolean, $first: Int, $offset: Int) {
  project(id: $projectId) {
    problems(filter: { isOpen: $open }, first: $first, offset: $offset) {
      totalCount
      nodes {
        id kind severity title detail whatWouldHelp subjectId subjectName broker { id name }
        openedAt closedAt lastSeenAt count acknowledgement { by at note } isSilenced
      }
    }
  }
}`;

export const problemRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/projects/{projectId}/problems',
    tag: 'Problems',
    since: '3.3',
    operationId: 'listProblems',
    summary: 'List what is wrong in a project',
    keywords: 'alarms alerts incidents health monitoring',
    description: 'Problems of the project and its brokers that the caller may see, those that opened last first.',
    query: QUERY,
    operation: LIST,
    variables: ({ params, query: { open, offset, count } }) => ({ ...params, open, offset, first: count }),
    pick: 'project.problems.nodes',
    total: 'project.problems.totalCount',
    response: PROBLEMS,
    errors: [401, 404, 500],
  },
];
