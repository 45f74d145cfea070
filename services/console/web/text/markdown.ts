/** Texts of Markdown of models, and of the dialog before a link in it is opened. */
export const markdown = {
  table: 'Table',
  image: 'image',
  linkTitle: 'Open link',
  linkText: 'This link in the answer leads to another site:',
  openLink: 'Open',
  cancel: 'Cancel',
}
