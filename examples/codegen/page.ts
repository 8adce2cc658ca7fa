import { graphql } from './generated/gql.ts';
import type { BrokersQuery } from './generated/graphql.ts';

export const BROKERS = graphql(`
  query Brokers($projectId: ID!) {
    project(id: $projectId) {
      id
      brokers {
        nodes {
          id
          name
          bridges { id key isActive }
        }
      }
    }
  }
`);

/** The compiler knows that a broker that is down has no bridges: the field is null. */
export const activeBridges = ({ project }: BrokersQuery): readonly string[] =>
  (project?.brokers.nodes ?? []).flatMap(({ bridges }) =>
    (bridges ?? []).filter(({ isActive }) => isActive).map(({ key }) => key),
  );
