import type { JsonSchema, Spelling } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, FILTER_QUERY, INTEGER, PAGE_QUERY, STRING } from '../../gateway/rest/schemas.ts';
import { ACL_TYPES, DEFAULT_ACL_TYPES, MAX_PRIORITY } from '../../protocol/apis/access-control/access-model.ts';

/** The values of `filterTarget` in REST, by the enum values in GraphQL: `TEXT_NAME` is `textname`. */
const targets = (...names: string[]): Spelling =>
  Object.fromEntries(names.map((name) => [name, name.toLowerCase().replace('_', '')]));

export const CLIENT_TARGETS = targets(
  'USERNAME',
  'CLIENT_ID',
  'TEXT_NAME',
  'TEXT_DESCRIPTION',
  'ROLE_NAME',
  'GROUP_NAME',
);
export const GROUP_TARGETS = targets('GROUP_NAME', 'TEXT_NAME', 'TEXT_DESCRIPTION', 'ROLE_NAME', 'USERNAME');
export const ROLE_TARGETS = targets('ROLE_NAME', 'TEXT_NAME', 'TEXT_DESCRIPTION', 'TOPIC');

const spellingOf = (types: readonly string[]): Spelling =>
  Object.fromEntries(types.map((type) => [type.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(), type]));

export const ACL_SPELLING = spellingOf(ACL_TYPES);
export const DEFAULT_ACL_SPELLING = spellingOf(DEFAULT_ACL_TYPES);

type Properties = Readonly<Record<string, JsonSchema>>;

const MAX_TEXT = 65_535;
const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: MAX_TEXT };
const TEXT: JsonSchema = { type: 'string', maxLength: MAX_TEXT };
const nullable = (schema: JsonSchema, description: string): JsonSchema => ({
  ...schema,
  type: [schema.type, 'null'],
  description,
});
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });

const ROLE_REFERENCE = closed({ rolename: NAME });
const GROUP_REFERENCE = closed({ groupname: NAME });
const CLIENT_REFERENCE = closed({ username: NAME });

interface ObjectBodies {
  readonly query: JsonSchema;
  readonly nameQuery: JsonSchema;
  readonly list: JsonSchema;
  readonly created: JsonSchema;
  readonly changed: JsonSchema;
}

const listQuery = (spelling: Spelling, fallback: string, more: Properties = {}): JsonSchema => ({
  type: 'object',
  properties: {
    ...PAGE_QUERY,
    ...FILTER_QUERY,
    filterTarget: {
      type: 'string',
      enum: Object.values(spelling),
      default: fallback,
      description: 'The text of an entry that is compared with the filter.',
    },
    ...more,
  },
});

const listOrNames = (item: JsonSchema): JsonSchema => ({
  oneOf: [listOf(item), { type: 'array', items: STRING, minItems: 1 }],
});

const named = (key: string): JsonSchema => ({ type: 'object', properties: { [key]: NAME }, required: [key] });

const UNCHANGED = 'null leaves it unchanged.';
const CLEARED = 'null clears it.';
const LIST_CHANGE = `Replaces the whole list. ${UNCHANGED}`;

const clientBody = (absent: string, cleared: string): Properties => ({
  username: NAME,
  password: nullable({ ...NAME }, `${absent} Never returned.`),
  clientid: nullable(TEXT, `The only client id that may use the account. ${cleared}`),
  textname: nullable(TEXT, cleared),
  textdescription: nullable(TEXT, cleared),
  groups: nullable(listOf(GROUP_REFERENCE), `Replaces the whole list. ${absent}`),
  roles: { ...listOf(ROLE_REFERENCE), description: 'Replaces the whole list.' },
});

export const CLIENT_BODIES: ObjectBodies = {
  query: listQuery(CLIENT_TARGETS, 'username', {
    username: {
      ...NAME,
      description: 'Returns only the client with this name, or 404. The other parameters are ignored then.',
    },
  }),
  nameQuery: named('username'),
  list: listOrNames(
    closed(
      {
        username: STRING,
        clientid: {
          type: 'string',
          description: 'The only client id that may use the account. Missing: any client id.',
        },
        textname: STRING,
        textdescription: STRING,
        roles: listOf(ROLE_REFERENCE),
        groups: listOf(GROUP_REFERENCE),
        connections: {
          type: 'array',
          items: closed({ address: STRING }, { required: [] }),
          description: 'Connected clients of the account. Missing if the broker cannot list its clients.',
        },
      },
      { required: ['username', 'roles', 'groups'], title: 'AccessClient' },
    ),
  ),
  created: closed(clientBody('null: none.', 'null: none.'), {
    required: ['username'],
    title: 'NewAccessClient',
    examples: [{ username: 'meter-1', password: 'a long secret', roles: [{ rolename: 'sensor' }] }],
  }),
  changed: closed(clientBody(UNCHANGED, CLEARED), {
    required: ['username'],
    title: 'AccessClientChange',
    description: 'Missing values stay unchanged. Existing roles and groups keep their priorities.',
    examples: [{ username: 'meter-1', textname: 'Meter 1', groups: [{ groupname: 'plant' }] }],
  }),
};
export const ACCESS_CLIENT_ENABLE: JsonSchema = closed(
  { username: NAME, enable: BOOLEAN },
  { title: 'AccessClientEnable', examples: [{ username: 'meter-1', enable: false }] },
);

const GROUP_TEXTS: Properties = { groupname: NAME, textname: TEXT, textdescription: TEXT };

export const GROUP_BODIES: ObjectBodies = {
  query: listQuery(GROUP_TARGETS, 'groupname'),
  nameQuery: named('groupname'),
  list: listOrNames(
    closed(
      {
        groupname: STRING,
        textname: STRING,
        textdescription: STRING,
        clients: listOf(closed({ username: STRING })),
        roles: listOf(ROLE_REFERENCE),
      },
      { required: ['groupname', 'clients', 'roles'], title: 'AccessGroup' },
    ),
  ),
  created: closed(GROUP_TEXTS, {
    required: ['groupname'],
    title: 'NewAccessGroup',
    examples: [{ groupname: 'plant', textname: 'Everything in the plant' }],
  }),
  changed: closed(
    {
      ...GROUP_TEXTS,
      clients: nullable(listOf(CLIENT_REFERENCE), LIST_CHANGE),
      roles: nullable(listOf(ROLE_REFERENCE), LIST_CHANGE),
    },
    {
      required: ['groupname'],
      title: 'AccessGroupChange',
      description: 'Missing values stay unchanged. Existing clients and roles keep their priorities.',
      examples: [{ groupname: 'plant', clients: [{ username: 'meter-1' }], roles: [{ rolename: 'sensor' }] }],
    },
  ),
};

const ACL_TYPE: JsonSchema = { type: 'string', enum: [...ACL_TYPES] };

const roleTexts = (cleared: string): Properties => ({
  rolename: NAME,
  textname: nullable(TEXT, cleared),
  textdescription: nullable(TEXT, cleared),
});

export const ROLE_BODIES: ObjectBodies = {
  query: listQuery(ROLE_TARGETS, 'rolename'),
  nameQuery: named('rolename'),
  list: listOrNames(
    closed(
      {
        rolename: STRING,
        textname: STRING,
        textdescription: STRING,
        allowwildcardsubs: {
          type: 'boolean',
          description: 'Whether subscriptions with wildcards are allowed. Missing: unsupported by the broker.',
        },
        acls: listOf(closed({ acltype: ACL_TYPE, topic: STRING, priority: INTEGER, allow: BOOLEAN })),
      },
      { required: ['rolename', 'acls'], title: 'AccessRole' },
    ),
  ),
  created: closed(roleTexts('null: none.'), {
    required: ['rolename'],
    title: 'NewAccessRole',
    examples: [{ rolename: 'sensor', textname: 'Sends measurements' }],
  }),
  changed: closed(
    {
      ...roleTexts(CLEARED),
      allowwildcardsubs: nullable(BOOLEAN, UNCHANGED),
      acls: nullable(
        listOf(
          closed({
            acltype: ACL_TYPE,
            topic: NAME,
            priority: { type: 'integer', minimum: -MAX_PRIORITY, maximum: MAX_PRIORITY },
            allow: BOOLEAN,
          }),
        ),
        LIST_CHANGE,
      ),
    },
    {
      required: ['rolename'],
      title: 'AccessRoleChange',
      description: 'Missing values stay unchanged.',
      examples: [
        {
          rolename: 'sensor',
          acls: [{ acltype: 'publishClientSend', topic: 'plant/+/data', priority: 0, allow: true }],
        },
      ],
    },
  ),
};

const DEFAULT_ACL_ENTRY = closed(
  { acltype: { type: 'string', enum: [...DEFAULT_ACL_TYPES] }, allow: BOOLEAN },
  { title: 'DefaultAclEntry' },
);

export const DEFAULT_ACL: JsonSchema = closed({ acls: listOf(listOf(DEFAULT_ACL_ENTRY)) }, { title: 'DefaultAcl' });
export const DEFAULT_ACL_CHANGE: JsonSchema = {
  type: 'array',
  items: DEFAULT_ACL_ENTRY,
  maxItems: 100,
  description: 'Missing types stay unchanged. Of several entries with one type, the last one is used.',
  examples: [[{ acltype: 'subscribe', allow: false }]],
};
