import { catalogue } from '../texts/texts.ts';

/** Of the frame. The texts of its screens are loaded with them. */
export const projectTexts = catalogue('project', {
  screens: 'Screens of the project',
  noProject: 'This project does not exist, or you may not see it.',
  yourRole: 'Your role: {role}',
  ADMIN: 'administrator',
  EDITOR: 'editor',
  VIEWER: 'viewer',
  settings: 'Settings',
  problems: 'Problems',
  silences: 'Silences',
  members: 'Members',
  tokens: 'Tokens',
  rules: 'Sign-in rules',
  certificates: 'Certificates',
  passwords: 'Passwords',
  clusters: 'Clusters',
  audit: 'Audit',
});
