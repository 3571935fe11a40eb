package toolbox

import "strings"

// synonyms says what people's words stand for in the definitions of tools, a line
// each: the words before the colon stand for those behind it; in a line without
// one each stands for all the others. Behind = are words that are put in its place. They are the general vocabulary of what
// tools do, of no catalog in particular. A second part has the commonest words of
// other languages, without their accents: tools describe themselves in English.
const synonyms = `
create add new make insert post
start open begin file write set book put leave save store plan register log raise submit compose draft generate build found issue jot enter : create add new insert
delete remove drop erase discard
clear clean rid cancel trash throw purge wipe kill destroy uninstall unsubscribe : delete remove
update edit change modify patch
rename adjust correct fix set assign mark reschedule postpone shift extend shorten replace rewrite turn switch configure : update edit change
move transfer relocate reorganize
put bring shift : move
get read show view fetch retrieve display
see look tell give what open say load print check : get read show
list enumerate
all every any which overview everything : list
which any what : query filter find
many number amount : count
search find query lookup
look seek locate google hunt discover browse : search find
average mean median sum total per group statistics stats breakdown : aggregate statistics
size big large storage space usage stats
send post
tell message notify inform write say announce share ping text : send post message
reply answer respond
comment note remark annotation
comment note : create add
approve accept confirm
accept decline reject invitation invite attend rsvp : respond invitation
finish finished done complete completed close tick accomplished
check tick off done finished : close complete resolve mark
resolve settle resolved
restore undo uncomplete revert recover reopen
wrong mistake accident accidentally back again : undo restore reopen revert
copy duplicate clone fork
download export dump backup save
extract pull get : extract
upload attach attachment
run execute evaluate
stop end halt terminate abort
pause suspend resume sleep
monitor watch track observe subscribe
changes changed new follow alert notify : monitor watch
difference diff differences compare changes changed change
analyze analyse inspect diagnose explain analysis
why : explain analyze
slow fast speed performance quick latency slowly speedy
error errors exception failure fail failed
bug crash broken wrong : error
bug problem defect ticket incident complaint : issue
ticket issue
pr prs = pull request
mr mrs = merge request
repo repos repository repositories project
code source program
commit commits committed history
commit change changes : push file
readme license config : file contents repository
outdated sync rebase : update branch
ahead catch : update
reviewer review reviews feedback
status state
checks status build ci pipeline
valid validate lint verify validity
user users member people person account
who colleague coworker somebody everyone contact author team staff : user users members
who participant shared : collaborators members
profile details info information
collaborator member participant
team group
channel room chat
channel room chat conversation thread said wrote : messages history
conversation discussion thread
history past earlier previous recent last latest
catch summary : history messages
emoji reaction smiley thumbs heart
like thumbs heart star : reaction
todo task tasks reminder
shopping errands chores : tasks
remind reminder remember errand chore forget : task create
today tomorrow yesterday week month day date monday tuesday wednesday thursday friday saturday sunday tonight morning afternoon evening weekend noon : date event calendar task
due deadline overdue late : task filter due date
meeting appointment event
meeting appointment call lunch dinner party conference interview trip vacation holiday : event calendar
calendar agenda diary schedule
free busy available availability
clock hour zone now timezone : time current
label tag
section heading
page document
doc docs document documentation wiki
table database collection
entry entries row record records item document
column field property attribute schema fields properties structure
value status priority title : property
block paragraph section content text : block content children append
database databases db data
folder directory folders
picture photo image screenshot snapshot
website site web page url webpage homepage
go visit navigate open browse : navigate page url
web internet online
google news latest internet online : search web
article news blog story : page url content scrape
scrape extract pull grab
article summarize : scrape content
facts figures numbers : extract data
crawl spider
whole entire site website : crawl
tab tabs page window browser
tab tabs : pages
popup alert dialog prompt confirm
click press tap push button
form fill input type enter
javascript js script function
console log logs message messages
request requests network traffic
mobile phone device tablet iphone android : emulate device mobile viewport resize
looks look appear width : emulate resize screenshot
video recording record screencast film movie
memory leak heap ram
accessibility seo audit quality lighthouse
route way directions travel drive walk
from get reach go : directions
far distance long
high height altitude elevation tall
address location place coordinates
restaurant cafe bar shop store hotel museum pharmacy hospital school station near nearby around place places
hours opening rating reviews phone : place details
coordinates latitude longitude geocode
weather forecast temperature
paper papers study studies research
scientific academic publication article science literature : paper papers research
similar related alike resembling
pdf document file parse
cluster server instance
permission access allow permit whitelist
ip address access
login credential credentials password : user account
alert alerts warning warnings alarm
index indexes indices
release version tag
asset binary binaries artifact attachment file
connect link join
link relate attach associate
connect login account
spreadsheet sheet table
mail email inbox
query queries statement

anlegen erstellen erstelle erstell neu neue neuen neuer hinzufugen leg lege mache machen mach schreib schreibe eintragen trag buche buchen offne : create add new
loschen losche losch entferne entfernen absagen streich streiche : delete remove
andern andere andre bearbeiten verschieben verschiebe verschieb umbenennen : update edit change move
zeig zeige zeigen lies lesen hole holen gib sag anzeigen : get show read
liste auflisten alle welche : list
liste ansteht : tasks list
such suche suchen finde finden nachschlagen : search find
sende senden schick schicke schicken nachricht nachrichten mitteilen : send post message
antworte antworten : reply
kommentar kommentiere kommentieren : comment
termin termine besprechung treffen verabredung sitzung : event calendar list
kalender : calendar event
aufgabe aufgaben erledigen erledigt erinnere erinnerung einkaufsliste : task create
heute morgen gestern woche montag dienstag mittwoch donnerstag freitag samstag sonntag nachste nachster nachstes : date event task
zeit uhr uhrzeit spat : time current
datei dateien : file
ordner verzeichnis : directory folder
seite seiten webseite website : page
bild foto bildschirmfoto : screenshot image
notiz notizen dokument dokumente unterlagen : page note document
fehler problem storung defekt : issue bug
wetter : weather
weg route fahre fahren komme komm strecke : directions route
entfernung weit : distance
adresse ort restaurant nahe : address place
hoch hohe : elevation
datenbank : database
tabelle : table collection
viele anzahl : count
internet netz web : web
benutzer nutzer leute mitglieder : user users
kanal kanale : channel
projekt : project
frei verfugbar : free busy
klick klicke : click
crear crea nuevo nueva anadir anade pon cree creer nouveau nouvelle ajoute ajouter ouvre ouvrir abre abrir : create add new
borra borrar eliminar elimina supprime supprimer efface : delete remove
cambia cambiar mueve modifie modifier change deplace : update edit change move
muestra mostrar montre montrer ver voir affiche lee lis : get show list read
busca buscar cherche chercher trouve encuentra : search find
envia enviar manda mensaje envoie envoyer dis : send post message
calendario calendrier cita reunion rendez reuniones evento evenement : calendar event list
tarea tareas tache taches recuerdame recordatorio rappelle : task create
manana hoy ayer demain aujourd hier semana semaine : date event list
archivo fichier : file
carpeta dossier : folder directory
pagina : page
captura capture : screenshot
ruta camino llegar aller itineraire : directions
clima tiempo meteo : weather
billet incidencia probleme problema : issue
`

// meanings are what stems stand for beside themselves, and what is put in the place
// of some.
type meanings struct {
	others  map[string][]string
	instead map[string][]string
}

// meanings reads the synonyms.
func (l *lexicon) meanings() meanings {
	m := meanings{map[string][]string{}, map[string][]string{}}
	for line := range strings.Lines(synonyms) {
		if from, to, ok := strings.Cut(line, "="); ok {
			for _, a := range l.of(from, 100) {
				m.instead[a] = l.of(to, 100)
			}
			continue
		}
		from, to, directed := strings.Cut(line, ":")
		left := l.of(from, 100)
		right := left
		if directed {
			right = l.of(to, 100)
		}
		for _, a := range left {
			for _, b := range right {
				if a != b {
					m.others[a] = append(m.others[a], b)
				}
			}
		}
	}
	return m
}
