import { graphql, type ResultOf } from '../graph/graphql.ts';

export const PROBLEM = graphql(`fragment ShownProblem on Problem @_unmask {
  id
  kind
  severity
  title
  detail
  statements { code parameters }
  whatWouldHelp
  subjectId
  subjectName
  broker { id name }
  brokerName
  project { id name viewerCanSilenceProblems }
  openedAt
  closedAt
  count
  acknowledgement { by at note }
  isSilenced
}`);

const EVENT = graphql(
  `fragment ShownProblemsEvent on ProblemsEvent @_unmask {
  kind
  sequence
  partsLeft
  problems { ...ShownProblem }
  removed
}`,
  [PROBLEM],
);

export const PROBLEMS = graphql(
  `subscription OpenProblems($projectId: ID!, $after: SafeInt) {
  problems(projectId: $projectId, after: $after) { ...ShownProblemsEvent }
}`,
  [EVENT],
);

export const SERVICE_PROBLEMS = graphql(
  `subscription OpenServiceProblems($after: SafeInt) {
  serviceProblems(after: $after) { ...ShownProblemsEvent }
}`,
  [EVENT],
);

export const CLOSED = graphql(
  `query ClosedProblems($id: ID!, $filter: ProblemFilter, $offset: Int!) {
  project(id: $id) {
    problems(filter: $filter, orderBy: { field: CLOSED_AT, order: DESC }, first: 50, offset: $offset) {
      totalCount
      nodes { ...ShownProblem }
    }
  }
}`,
  [PROBLEM],
);

export type ProblemsEvent = ResultOf<typeof EVENT>;
export type ShownProblem = ResultOf<typeof PROBLEM>;

export const ACKNOWLEDGE = graphql(`mutation AcknowledgeProblem($input: AcknowledgeProblemInput!) {
  acknowledgeProblem(input: $input) { problem { id } }
}`);
export const UNACKNOWLEDGE = graphql(`mutation UnacknowledgeProblem($input: UnacknowledgeProblemInput!) {
  unacknowledgeProblem(input: $input) { problem { id } }
}`);
