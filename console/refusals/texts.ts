import { catalogue } from '../texts/texts.ts';

export const refusalTexts = catalogue({
  en: {
    whatHelps: 'What would help',
    decidedBy: 'Decided by',
    times: 'Times',
    last: 'Last',
    noRefusals: 'Nobody was refused since {time}. Try it with a wrong password:',
  },
  de: {
    whatHelps: 'Was helfen würde',
    decidedBy: 'Entschieden von',
    times: 'Anzahl',
    last: 'Zuletzt',
    noRefusals: 'Seit {time} wurde niemand abgewiesen. Versuchen Sie es mit einem falschen Passwort:',
  },
});
