import { catalogue } from '../texts/texts.ts';
import { projectTexts } from './texts.ts';

export const ruleTexts = catalogue(
  'project/rule',
  {
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
  projectTexts,
);
