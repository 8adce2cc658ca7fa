import { graphql, type ResultOf } from '../graph/graphql.ts';

export const PROBLEM = graphql(`fragment ShownProblem on Problem @_unmask {
  id
  kind
  severity
  title
  detail
  whatWouldHelp
  subjectId
  subjectName
  broker { id name }
  project { id name }
  openedAt
  closedAt
  count
  acknowledgement { by note }
  isSilenced
}`);

/** At most this many are shown; the counts are of all. */
export const MAX_SHOWN = 50;

export const OPEN_PROBLEMS = graphql(
  `query OpenProblems($filter: ProblemFilter, $first: Int!) {
  problems(filter: $filter, orderBy: { field: SEVERITY, order: DESC }, first: $first) {
    totalCount
    nodes { ...ShownProblem }
  }
}`,
  [PROBLEM],
);

export type ShownProblem = ResultOf<typeof PROBLEM>;

export const ACKNOWLEDGE = graphql(`mutation AcknowledgeProblem($input: AcknowledgeProblemInput!) {
  acknowledgeProblem(input: $input) { problem { id } }
}`);
export const UNACKNOWLEDGE = graphql(`mutation UnacknowledgeProblem($input: UnacknowledgeProblemInput!) {
  unacknowledgeProblem(input: $input) { problem { id } }
}`);
export const SILENCE = graphql(`mutation SilenceProblems($input: SilenceProblemsInput!) {
  silenceProblems(input: $input) { silence { id } }
}`);
