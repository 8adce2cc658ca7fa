import type { JsonSchema } from '../../gateway/rest/route.ts';
import { closed, NULLABLE_STRING, STRING } from '../../gateway/rest/schemas.ts';
import { BROKER_SERVICE } from './service-bodies.ts';

export const PROJECT_ROLES_SPELLED = { ADMIN: 'admin', EDITOR: 'editor', VIEWER: 'viewer' } as const;

const PROJECT: JsonSchema = closed(
  {
    id: STRING,
    name: STRING,
    description: STRING,
    owner: closed({ userId: STRING, organizationId: STRING, name: STRING }, { required: ['name'] }),
    role: { type: 'string', enum: Object.values(PROJECT_ROLES_SPELLED), description: 'Role of the caller.' },
  },
  { title: 'Project' },
);

export const PROJECTS: JsonSchema = { type: 'array', items: PROJECT };

const OWNER: JsonSchema = closed({ userId: STRING, organizationId: STRING }, { required: [], title: 'ProjectOwner' });

export const PROJECT_SETTINGS: JsonSchema = closed(
  {
    project: closed({ id: STRING, user_id: NULLABLE_STRING, name: STRING, description: STRING, owner: OWNER }),
    owner: OWNER,
    services: { type: 'array', items: BROKER_SERVICE },
  },
  { title: 'ProjectSettings' },
);
