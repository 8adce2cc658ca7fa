import { catalogue } from '../texts/texts.ts';
import { projectTexts } from './texts.ts';

export const ruleTexts = catalogue({
  en: {
    ...projectTexts.en,
    explanation:
      'Users of a provider get a role in the project if a claim matches a rule, in addition to the members. The highest role applies.',
    noProvider: 'The service has no provider: the rules take effect when OIDC_ISSUER or LDAP_URL is set.',
    noRules: 'The project has no sign-in rules.',
    pattern: 'Pattern',
    patternHint: 'A regular expression (RE2) that matches a whole value, such as plant-(ops|dev)',
    claim: 'Claim',
    claimHint: 'Its path, such as realm_access.roles. Empty: the groups',
    provider: 'Provider',
    SSO: 'OpenID Connect',
    LDAP: 'directory (LDAP)',
    role: 'Role',
    created: 'Created',
    createRule: 'Create rule',
    changeOf: 'Change the rule {pattern}',
    removeOf: 'Remove the rule {pattern}',
    saved: 'The rule is saved.',
    removed: 'The rule is removed.',
    createNote: 'Matching users get the role immediately, also those who are signed in.',
    changeNote:
      'This takes effect immediately. Users who no longer match lose the role, and what they have open and may no longer see ends.',
    lose: 'All users whose claim {claim} matches {pattern} lose the role {role} immediately, unless another rule or a membership gives it to them. What they have open and may no longer see ends.',
  },
  de: {
    ...projectTexts.de,
    explanation:
      'Benutzer eines Anbieters erhalten zusätzlich zu den Mitgliedern eine Rolle im Projekt, wenn ein Claim zu einer Regel passt. Es gilt die höchste Rolle.',
    noProvider: 'Der Dienst hat keinen Anbieter: Die Regeln wirken, sobald OIDC_ISSUER oder LDAP_URL gesetzt ist.',
    noRules: 'Das Projekt hat keine Anmelderegeln.',
    pattern: 'Muster',
    patternHint: 'Ein regulärer Ausdruck (RE2), der einen ganzen Wert beschreibt, etwa plant-(ops|dev)',
    claim: 'Claim',
    claimHint: 'Sein Pfad, etwa realm_access.roles. Leer: die Gruppen',
    provider: 'Anbieter',
    SSO: 'OpenID Connect',
    LDAP: 'Verzeichnis (LDAP)',
    role: 'Rolle',
    created: 'Angelegt',
    createRule: 'Regel anlegen',
    changeOf: 'Regel {pattern} ändern',
    removeOf: 'Regel {pattern} entfernen',
    saved: 'Die Regel ist gespeichert.',
    removed: 'Die Regel ist entfernt.',
    createNote: 'Passende Benutzer erhalten die Rolle sofort, auch wenn sie schon angemeldet sind.',
    changeNote:
      'Das gilt sofort. Benutzer, die nicht mehr passen, verlieren die Rolle, und was sie geöffnet haben und nicht mehr sehen dürfen, endet.',
    lose: 'Alle Benutzer, deren Claim {claim} zu {pattern} passt, verlieren sofort die Rolle {role}, außer eine andere Regel oder eine Mitgliedschaft gibt sie ihnen. Was sie geöffnet haben und nicht mehr sehen dürfen, endet.',
  },
});
