import { graphql, type ResultOf, type VariablesOf } from '../graph/graphql.ts';

export const CHANGE = graphql(`mutation ChangeAccessControl($input: ChangeAccessControlInput!) {
  changeAccessControl(input: $input) {
    outcome
    changes {
      outcome
      error { code message }
      commands { command fields state error { message } }
    }
    blastRadius { anonymous clientCount clients { clientId username } gateway isComplete usernames }
  }
}`);

/** One change of the access control, as the graph takes it. */
export type Change = VariablesOf<typeof CHANGE>['input']['changes'][number];

type Changed = ResultOf<typeof CHANGE>['changeAccessControl'];
export type Report = Changed['changes'][number];
export type Command = Report['commands'][number];
export type Blast = Changed['blastRadius'];
export type Outcome = Changed['outcome'];
