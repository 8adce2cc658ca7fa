import { catalogue } from '../texts/texts.ts';

/** Fields of inputs, in the words of their screens. Others have the name of the graph. */
export const fieldTexts = catalogue('audit/field', {
  acl: 'Rule',
  acls: 'Rules',
  clientId: 'Client id',
  description: 'Description',
  email: 'E-mail address',
  enabled: 'Enabled',
  groups: 'Groups',
  isActive: 'Switched on',
  members: 'Members',
  name: 'Name',
  password: 'Password',
  priority: 'Priority',
  publishClientReceive: 'Receive',
  publishClientSend: 'Publish',
  role: 'Role',
  roleName: 'Role',
  groupName: 'Group',
  roles: 'Roles',
  subscribe: 'Subscribe',
  textDescription: 'Description',
  textName: 'Display name',
  unsubscribe: 'Unsubscribe',
  username: 'User name',
});
