import { catalogue } from '../texts/texts.ts';

export const viewerNoteTexts = catalogue({
  en: {
    mayChange: 'In this project viewers may also change access control, streams, bridges and clients.',
    toStrict: 'Turn on strict roles in the settings, so that they only look.',
  },
  de: {
    mayChange: 'In diesem Projekt dürfen Betrachter auch Zugriffsrechte, Streams, Bridges und Clients ändern.',
    toStrict: 'Schalten Sie in den Einstellungen strenge Rollen ein, damit sie nur zusehen.',
  },
});
