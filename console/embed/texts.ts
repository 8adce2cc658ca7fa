import { catalogue } from '../texts/texts.ts';

export const embedTexts = catalogue({
  en: {
    missing: 'The element needs the attribute “{name}”.',
    wrongService: '“{service}” is not the address of a service.',
    noToken: 'The element needs a token, as its property or its attribute “token”.',
    refused: 'The service does not accept the token. It has expired or was revoked, or it is not one of this service.',
    away: '{service} does not respond, or CORS_ORIGINS does not have {origin}. The element tries again by itself. Grey values are the last known ones.',
    noMetric: 'There is no metric “{metric}”. These exist: {metrics}.',
  },
  de: {
    missing: 'Das Element braucht das Attribut „{name}“.',
    wrongService: '„{service}“ ist nicht die Adresse eines Dienstes.',
    noToken: 'Das Element braucht ein Token, als Eigenschaft oder als Attribut „token“.',
    refused:
      'Der Dienst akzeptiert das Token nicht. Es ist abgelaufen, wurde widerrufen oder gehört nicht zu diesem Dienst.',
    away: '{service} antwortet nicht, oder {origin} fehlt in CORS_ORIGINS. Das Element versucht es von selbst erneut. Graue Werte sind die zuletzt bekannten.',
    noMetric: 'Es gibt keine Metrik „{metric}“. Vorhanden sind: {metrics}.',
  },
});
