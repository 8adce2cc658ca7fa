import type { Route } from '../../gateway/rest/route.ts';
import { PROJECT_ROLES_SPELLED, PROJECT_SETTINGS, PROJECTS } from './project-bodies.ts';
import { BROKER_SPELLING, CLOUD_FIELDS, ON_PREMISE_FIELDS, SELF_HOSTED_FIELDS } from './service-bodies.ts';

const LIST = `query ($first: Int, $after: String) {
  projects(first: $first, after: $after) {
    totalCount
    nodes { id name description owner { userId organizationId name } role: viewerRole }
    pageInfo { hasNextPage endCursor }
  }
}`;

const SETTINGS = `query ($projectId: ID!) {
  project(id: $projectId) {
    restSettings {
      project { id user_id: ownerUserId name description owner { userId organizationId } }
      owner { userId organizationId }
      services: brokers {
        ... on CloudBroker { ${CLOUD_FIELDS} }
        ... on SelfHostedBroker { ${SELF_HOSTED_FIELDS} }
        ... on OnPremiseSetup { ${ON_PREMISE_FIELDS} }
      }
    }
  }
}`;

const DOCUMENTED = { section: '4.1', tag: 'Projects', since: '3.1' } as const;

export const projectRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/projects',
    ...DOCUMENTED,
    operationId: 'listProjects',
    summary: 'List the projects in which the caller has a role',
    keywords: 'workspaces tenants',
    operation: LIST,
    variables: () => ({ first: 1_000 }),
    pick: 'projects.nodes',
    total: 'projects.totalCount',
    omitNull: ['owner.userId', 'owner.organizationId'],
    spell: { ProjectRole: PROJECT_ROLES_SPELLED },
    stream: { when: () => true, pageInfo: 'projects.pageInfo', pageSize: 1_000 },
    response: PROJECTS,
    errors: [401, 403, 404, 405, 500],
  },
  {
    method: 'GET',
    path: '/api/projects/{projectId}/settings',
    ...DOCUMENTED,
    operationId: 'getProjectSettings',
    summary: 'Read the settings of a project with its brokers',
    keywords: 'configuration services',
    operation: SETTINGS,
    pick: 'project.restSettings',
    omitNull: ['project.owner.userId', 'project.owner.organizationId', 'owner.userId', 'owner.organizationId'],
    spell: BROKER_SPELLING,
    response: PROJECT_SETTINGS,
    errors: [401, 403, 404, 405, 500],
  },
];
