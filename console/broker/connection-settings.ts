import { graphql, type ResultOf } from '../graph/graphql.ts';

export const CONNECTION = graphql(`query ConnectionSettings($id: ID!) {
  broker(id: $id) {
    id
    name
    type
    description
    url
    username
    verifyCaCert
    allowsClientTakeover
    createdAt
    isCluster
    cluster { id name }
    viewerCanUpdate
    viewerCanDelete
    ... on CloudBroker { runsOn { host } engine bindsSessionsToAccounts }
  }
}`);

export type Settings = NonNullable<ResultOf<typeof CONNECTION>['broker']>;
