/** Groups of routes in the OpenAPI document and on the HTML page, with their descriptions. */
export const TAGS = {
  Projects: 'Projects and their settings.',
  Problems: 'What is wrong in a project, and was.',
  Brokers: 'Brokers of a project: connections, listeners, information and licences.',
  Bridges: 'Bridges between a broker and other systems.',
  Certificates: 'TLS certificates of a project, and their deployment to listeners.',
  Clusters: 'Clusters: several brokers that are managed as one.',
  'Client inspect': 'Connected clients and persistent sessions of a broker.',
  'Client control': 'Subscribe, unsubscribe and disconnect clients of a broker.',
  'Access control':
    'Accounts, groups, roles and the default ACL of a broker. Paths and bodies call an account a client.',
  Streams: 'Streams that select, compute, store and replay messages.',
  'Topic tree': 'Topics in use on a broker.',
  Tokens: 'Credentials of programs for one project.',
  Users: 'Users of this service and its root administrators.',
  'Single sign-on': 'Rules that assign project roles to users of single sign-on and LDAP.',
} as const;

export type Tag = keyof typeof TAGS;
