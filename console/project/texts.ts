import { catalogue } from '../texts/texts.ts';

/** Of the frame. The texts of its screens are loaded with them. */
export const projectTexts = catalogue({
  en: {
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
    clusters: 'Clusters',
    audit: 'Audit',
  },
  de: {
    screens: 'Ansichten des Projekts',
    noProject: 'Dieses Projekt gibt es nicht, oder Sie dürfen es nicht sehen.',
    yourRole: 'Ihre Rolle: {role}',
    ADMIN: 'Administrator',
    EDITOR: 'Bearbeiter',
    VIEWER: 'Betrachter',
    settings: 'Einstellungen',
    problems: 'Probleme',
    silences: 'Stummschaltungen',
    members: 'Mitglieder',
    tokens: 'Token',
    rules: 'Anmelderegeln',
    certificates: 'Zertifikate',
    clusters: 'Cluster',
    audit: 'Audit',
  },
});
