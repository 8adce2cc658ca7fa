import { graphql, type ResultOf } from '../graph/graphql.ts';

export const PROJECTS = graphql(`query Projects($first: Int!) {
  projects(first: $first) {
    totalCount
    nodes {
      id
      name
      viewerCanAddBrokers
      viewerCanManageMembers
      all: brokers(first: 0) { totalCount }
      away: brokers(first: 0, filter: { isConnected: false }) { totalCount }
      troubled: brokers(first: 0, filter: { hasProblems: true }) { totalCount }
    }
  }
  problemCounts { critical warning notice }
}`);

export type Projects = ResultOf<typeof PROJECTS>;
export type Project = Projects['projects']['nodes'][number];

export const FLEET_HOUR = graphql(`query FleetHour {
  fleetMetrics {
    brokers
    clients
    messagesIn
    messagesOut
    refusals
    refused
    current { brokers clients messagesIn messagesOut }
  }
}`);

export const BROKERS = graphql(`query ProjectBrokers(
  $id: ID!
  $first: Int!
  $offset: Int!
  $filter: BrokerFilter!
  $orderBy: BrokerOrder!
) {
  project(id: $id) {
    brokers(first: $first, offset: $offset, filter: $filter, orderBy: $orderBy) {
      totalCount
      nodes {
        id
        name
        connection { state lastError }
        currentMetrics {
          asOf
          isStale
          clients { connected }
          rates { publishReceivedPerSecond publishSentPerSecond }
        }
        problemCounts { critical warning notice }
      }
    }
    problemThresholds { certificateDays }
    certificates(first: 1000) { nodes { daysLeft brokers { id } } }
  }
}`);

/** The last hour of the brokers of a page, in one request: the history reads them together. */
export const HOURS = graphql(`query HoursOfBrokers(
  $id: ID!
  $first: Int!
  $offset: Int!
  $filter: BrokerFilter!
  $orderBy: BrokerOrder!
) {
  project(id: $id) {
    brokers(first: $first, offset: $offset, filter: $filter, orderBy: $orderBy) {
      nodes { id metrics(maxPoints: 61) { clients { mean } messagesIn { mean } messagesOut { mean } refusals { total } } }
    }
  }
}`);

export type Broker = NonNullable<ResultOf<typeof BROKERS>['project']>['brokers']['nodes'][number];
export type Hour = NonNullable<NonNullable<ResultOf<typeof HOURS>['project']>['brokers']['nodes'][number]['metrics']>;
