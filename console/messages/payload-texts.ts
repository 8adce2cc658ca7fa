import { catalogue } from '../texts/texts.ts';

export const payloadTexts = catalogue({
  en: {
    format: 'Format',
    auto: 'Automatic',
    text: 'Text',
    json: 'JSON',
    hex: 'Hexadecimal',
    base64: 'Base64',
  },
  de: {
    format: 'Format',
    auto: 'Automatisch',
    text: 'Text',
    json: 'JSON',
    hex: 'Hexadezimal',
    base64: 'Base64',
  },
});
