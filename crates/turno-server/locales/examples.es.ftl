# What stands below the help of each command. In English it stands in the definition of the command line.

examples-turno =
    Ejemplos:
      turno demo                              verlo funcionar, en un lugar temporal
      turno serve --database sqlite:turno.db  servir sobre un archivo
      turno user add ana --role admin --name "Ana Pérez"
      export TURNO_TOKEN=$(turno token create --user ana)
      turno lease claim caja:3 --ttl 30s      tomarla, por 30 segundos cada vez
      turno why caja:3                        quién la tiene, y hasta cuándo
      turno run --resource informe -- ./inf   nunca dos a la vez

    Códigos de salida: 0 hecho, 1 rechazado o fallido, 2 mal pedido (`turno run`
    tiene más). Los datos van a la salida, lo demás a la salida de errores.
    Duraciones: 500ms, 30s, 5m, 1h30m, 7d. Hay colores solo en una terminal, y no
    si NO_COLOR está definida. Habla español si TURNO_LANG, LC_ALL, LC_MESSAGES o
    LANG lo dicen, salvo con --json.

examples-turno-demo =
    Todo está en un lugar temporal y desaparece al final. Con --database y una base
    vacía de PostgreSQL, la sincronización se muestra con triggers de verdad sobre
    una tabla de usuarios; borre esa base después.

examples-turno-serve =
    Ejemplos:
      turno serve                  sobre sqlite:turno.db, en http://127.0.0.1:7171
      turno serve --database postgres://turno@db/turno --listen 127.0.0.1:8080
      turno serve --config /etc/turno.toml --env production

    Cuando está listo imprime una línea en la salida: listening on http://ADDR.
    Termina bien con SIGTERM y Ctrl-C. --help muestra más opciones que -h;
    `turno config` muestra qué está en vigor y de dónde viene.

examples-turno-migrate =
    Ejemplos:
      turno migrate --database postgres://turno@db/turno
      turno migrate --check || echo "el esquema no es el actual"

    `turno serve` también lo hace, si no se inicia con --no-migrate.

examples-turno-config =
    Ejemplos:
      turno config --config /etc/turno.toml    lo que usaría `serve`, y por qué
      turno config --env production            … y si arrancaría así
      turno config --json | jq '.[] | select(.origin != "default")'

    Las contraseñas no se muestran. Termina con 2 si `serve` no arrancaría así: en
    producción por lo inseguro, en todas partes si falta un `secret_env`.
    docs/reference/configuration.md explica cada clave.

examples-turno-healthcheck =
    Ejemplos:
      turno healthcheck && echo bien
      turno healthcheck --server http://127.0.0.1:8080
      HEALTHCHECK CMD ["turno", "healthcheck"]      en el archivo de un contenedor

    Termina con 0 si el servidor contesta, llega a su base y el esquema sirve; con
    1 si no. No necesita token.

examples-turno-login =
    Ejemplos:
      turno login                           entra en http://127.0.0.1:7171
      turno login --server https://turno.example.com
      turno login --no-browser              solo imprime la dirección

    Abre el servidor en un navegador. Allí usted entra como siempre y confirma. El
    token queda en turno/credentials.toml, en su carpeta de configuración, que solo
    usted puede leer, y vence a los 30 días. Los demás comandos lo usan para ese
    servidor si ni TURNO_TOKEN ni --token-file nombran otro.

examples-turno-logout =
    Ejemplos:
      turno logout
      turno logout --server https://turno.example.com

    Revoca el token que `turno login` guardó para el servidor, y lo quita.

examples-turno-user =
    Ejemplos:
      turno user add ana --role admin --name "Ana Pérez"
      turno user add leo --role editor --password-stdin < contraseña.txt
      turno user disable leo       lo que tiene se libera, sus tokens no valen
      turno user link ana --issuer https://id.example.com --subject 2482897
      turno user break-glass eva   imprime un enlace con el que eva entra una vez
      turno user list --json

    Trabaja directamente sobre --database, también mientras un servidor la usa. Un
    viewer lee, un editor además trabaja (tareas, bloqueos, colas), un admin puede
    todo.

examples-turno-token =
    Ejemplos:
      export TURNO_TOKEN=$(turno token create --user ana)
      turno token create --user bot --machine --expires 90d > bot.token
      turno token create --user app --can leases.use --resource pedido: factura:
      turno token create --user bot --can queues.consume --queue mails 'bot-*'
      turno token list --user ana
      turno token rotate ID --overlap 1h   otro; el anterior vale una hora más
      turno token revoke ID        deja de valer desde la próxima petición

    Trabaja directamente sobre --database, también mientras un servidor la usa. Un
    token se muestra una vez; solo se guarda su huella.

examples-turno-lease =
    Ejemplos:
      turno lease claim caja:3 --ttl 30s          tomarla
      turno lease claim caja:3 --wait 2m          esperarla en la fila
      turno lease heartbeat caja:3 --fence 42     conservarla
      turno lease release caja:3 --fence 42       devolverla
      turno lease list --holder ana --json
      turno lease force-release caja:3 --reason "Ana está de vacaciones"

    Pregunta a un servidor, como el dueño del token en TURNO_TOKEN. Para tener un
    bloqueo mientras corre un comando, use `turno run`.

examples-turno-queue =
    Ejemplos:
      turno queue put bot --kind lane             hacer una cola
      turno queue enqueue bot '{"{"}"text":"hola"{"}"}' --key 5491122334455
      turno queue enqueue bot --items < items.ndjson
      turno queue claim bot --instance proceso-1 --wait 20s --json
      turno queue ack bot ENTREGA --fence 42
      turno queue work bot -- ./responder.sh      un guion como proceso
      turno queue items bot --state exhausted
      turno queue why bot msg-81

    Pregunta a un servidor, como el dueño del token en TURNO_TOKEN.

examples-turno-queue-put =
    Ejemplos:
      turno queue put bot --kind lane     hacer una cola de carriles, como vienen
      turno queue put bot --window 5s     cambiar su ventana, y nada más
      turno queue put bot --push https://example.com/in/{"{"}key{"}"} \
        --push-secret-env TURNO_PUSH_SECRET_BOT
      turno queue put bot --no-push       dejarla a los procesos que toman
      turno queue put bot --reset         como viene su tipo; el envío queda

examples-turno-queue-work =
    Ejemplos:
      turno queue work bot -- ./responder.sh
      turno queue work mails --concurrency 4 -- python3 enviar.py
      turno queue work mails --database sqlite:turno.db --until-empty -- ./enviar

    CMD recibe la entrega como JSON por su entrada, y en su entorno TURNO_QUEUE,
    TURNO_KEY, TURNO_FENCE, TURNO_DELIVERY y TURNO_ATTEMPT. Decide cómo termina:

      0      hecho
      75     ahora no: vuelve, y el intento no cuenta; con --until-empty queda para
             otra ejecución, y también lo que espera detrás en su carril
      otro   falló: se intenta de nuevo como diga la política de la cola, y como
             error se guardan el código y las últimas líneas de su salida de errores

    La entrega se renueva mientras CMD corre, hasta donde la cola lo permita. Si se
    pierde, CMD se detiene: con SIGTERM, y con SIGKILL 10 s después. SIGINT o
    SIGTERM detienen el proceso: CMD puede terminar dentro de --grace, y una segunda
    señal lo detiene ya.

    En el servidor de --server o TURNO_URL; o, con --database, directamente allí.

examples-turno-task =
    Ejemplos:
      turno task create --title "Recepción 81" --quantity TORN-8=40 --ready
      turno task list --status ready
      turno task claim 7                       de lista a en proceso
      turno task finalize 7 --fence 42         aplicar las líneas y liberarla
      turno why task:7

    Pregunta a un servidor, como el dueño del token en TURNO_TOKEN. El bloqueo de la
    tarea 7 es task:7, y `turno lease heartbeat task:7` y los demás sirven con él.

examples-turno-why =
    Ejemplos:
      turno why caja:3              quién tiene este bloqueo, y hasta cuándo
      turno why task:7              lo mismo de una tarea, con su estado
      turno why bot                 cómo está la cola `bot`
      turno why bot/msg-81          por qué este elemento de la cola `bot` no avanza
      turno why bot key 54911223    por qué no avanza nada de esta clave

examples-turno-run =
    Ejemplos:
      turno run --resource informe-nocturno -- ./informe.sh
      turno run --server http://turno:7171 --resource deploy --wait 10m -- make
      turno run --resource import --ttl 1m -- sh -c 'importar $TURNO_FENCE'
      turno run --resource informe-nocturno --at-least-for 30m -- ./informe.sh

    El bloqueo se toma en --database, o en un servidor si --server o TURNO_URL
    nombran uno. CMD encuentra TURNO_RESOURCE y TURNO_FENCE en su entorno, y
    TURNO_TOKEN solo con --pass-token; quien
    guarde lo que escribe debería rechazar un fence menor que uno ya visto. SIGINT y
    SIGTERM se le pasan a CMD. Si el bloqueo se pierde, CMD se detiene: con SIGTERM,
    y con SIGKILL 10 s después. Con --at-least-for, CMD corre una vez por período:
    después de CMD el bloqueo sigue tomado por el resto de ese tiempo, para todos
    los procesos y con cualquier código de salida de CMD.

    Códigos de salida: los de CMD (128 + N si lo terminó la señal N), 75 si el
    bloqueo no se dio, 1 si se perdió, 2 si --at-least-for supera el max_ttl_ms de
    la política, 126 o 127 si CMD no se puede ejecutar.

examples-turno-events =
    Ejemplos:
      turno events                             todo
      turno events --topics leases,tasks --json | jq .resource
      turno events --after 1042                seguir después de una posición

    Una línea por evento; --json imprime lo que dice el evento. Una conexión perdida
    se retoma donde se cortó.

examples-turno-audit =
    Ejemplos:
      turno audit list --actor eva --limit 20        pregunta a un servidor
      turno audit verify > cabeza.txt                sigue la cadena en --database
      turno audit verify --head "$(cat cabeza.txt)"  … y la compara con la de antes

examples-turno-check =
    Ejemplos:
      turno check --database sqlite:turno.db
      turno check --json | jq .findings
      turno check --repair          repara los carriles dañados y revisa de nuevo
      turno check --restored        una vez, después de restaurar una instantánea

    Sin estas opciones no cambia nada. Puede correr junto a servidores. El avance
    va a la salida de errores, los hallazgos a la salida: la invariante, de qué se
    trata, qué está mal. Termina con 1 si se encontró algo; con --repair, si queda
    algo. --repair conserva todo lo aceptado y el orden de cada clave. Una entrega
    que nadie puede terminar se devuelve, y su confirmación tardía no vale. Cada
    carril reparado deja una entrada de auditoría (queue_repair). Guarde antes una
    copia de la base. docs/internals/invariants.md explica las invariantes.

examples-turno-backup =
    Ejemplos:
      turno backup --database sqlite:turno.db /copias/turno-$(date +%F).db
      turno serve --database sqlite:/copias/turno-2026-01-15.db

    Funciona junto a un servidor; una copia es una base como cualquier otra.
    PostgreSQL tiene sus herramientas (pg_dump): las tablas de Turno están en el
    esquema `turno`.

examples-turno-sync =
    Ejemplos:
      turno sync plan --config turno.toml        el SQL, para que lo lea un DBA
      turno sync install --config turno.toml     lo mismo, ejecutado
      turno sync status                          ¿instalado? ¿espera? ¿falla?
      turno sync resync --all                    enviar las filas que ya estaban
      turno sync check --queue-differences       comparar, y enviar lo que difiere

    Las fuentes vienen de [[sync.source]] en la configuración; `preset = "siper"` es
    un ejemplo completo. Los triggers necesitan PostgreSQL: en SQLite una cola de
    sincronización se alimenta por la API. Funciona junto a un servidor.

examples-turno-sync-resync =
    Ejemplos:
      turno sync resync --key 42
      turno sync resync --all
      turno sync resync --all --source usuarios --after 180000
                                                 seguir donde se detuvo

    Las claves se ponen en la cola en orden, unos cientos por vez; lo que se envía
    de cada una se decide por la tabla cuando se entrega. Después siguen las claves
    entregadas que ya no tienen fila. El avance va a la salida de errores.

examples-turno-sync-check =
    Ejemplos:
      turno sync check
      turno sync check --json | jq '.sources[].differences'
      turno sync check --queue-differences

    Imprime cada clave que difiere: missing (nunca entregada), differs (lo último
    entregado fue otra cosa), gone (entregada, y ya no hay fila que hable por ella).
    Lo que arreglará un evento en camino se cuenta aparte. Termina con 1 si algo
    difiere y no se encoló, o no se puede encolar, o una fuente no se pudo leer.

examples-turno-completions =
    Ejemplos:
      turno completions bash > ~/.local/share/bash-completion/completions/turno
      turno completions zsh > "${"{"}fpath[1]{"}"}/_turno"
      turno completions fish > ~/.config/fish/completions/turno.fish

examples-turno-man =
    Ejemplos:
      turno man | man -l -                     leerlo
      turno man ~/.local/share/man/man1        una página por cada comando
