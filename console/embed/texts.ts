import { catalogue } from '../texts/texts.ts';

export const embedTexts = catalogue('embed', {
  missing: 'The element needs the attribute “{name}”.',
  wrongService: '“{service}” is not the address of a service.',
  noToken: 'The element needs a token, as its property or its attribute “token”.',
  refused: 'The service does not accept the token. It has expired or was revoked, or it is not one of this service.',
  away: '{service} does not respond, or CORS_ORIGINS does not have {origin}. The element tries again by itself. Grey values are the last known ones.',
  noMetric: 'There is no metric “{metric}”. These exist: {metrics}.',
});
