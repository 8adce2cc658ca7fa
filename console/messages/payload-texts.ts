import { catalogue } from '../texts/texts.ts';

export const payloadTexts = catalogue('messages/payload', {
  format: 'Format',
  auto: 'Automatic',
  text: 'Text',
  json: 'JSON',
  hex: 'Hexadecimal',
  base64: 'Base64',
});
